#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
docs/img/plan.txt
docs/img/readme.txt
docs/img/test_io.txt
docs/img/util.txt
docs/plan.txt
docs/test_io.txt
src/core/plan.txt
src/core/readme.txt
src/core/test_io.txt
src/readme.txt
src/test_io.txt
tests/test_io.txt
ANSWER
