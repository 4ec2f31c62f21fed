#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
22
14
9
41
28
34
29
2
ANSWER
