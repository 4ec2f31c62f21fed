#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
15
40
1
40
37
20
33
12
ANSWER
