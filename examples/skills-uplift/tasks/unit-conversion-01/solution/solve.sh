#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
sample-0 767.900
sample-1 9244.000
sample-2 5.859
sample-3 3.340
sample-4 2.108
sample-5 4586.000
sample-6 0.062
sample-7 9.072
sample-8 37.000
sample-9 124000.000
ANSWER
