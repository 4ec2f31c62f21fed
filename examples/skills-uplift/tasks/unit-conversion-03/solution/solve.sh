#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
sample-0 20.484
sample-1 728.700
sample-2 32.255
sample-3 8.988
sample-4 2.508
sample-5 2.447
sample-6 4.469
sample-7 66050.000
sample-8 1.805
sample-9 615.700
ANSWER
