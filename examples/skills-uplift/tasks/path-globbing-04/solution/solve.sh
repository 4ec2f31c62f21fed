#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
docs/img/plan.txt
docs/img/util.txt
docs/main.txt
ANSWER
