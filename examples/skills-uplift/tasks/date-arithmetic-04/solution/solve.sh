#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
30
18
22
0
32
26
14
14
ANSWER
