#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
21
10
38
19
41
33
3
30
ANSWER
