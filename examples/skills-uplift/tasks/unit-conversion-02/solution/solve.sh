#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
sample-0 0.725
sample-1 2.116
sample-2 20.350
sample-3 23.805
sample-4 14.457
sample-5 85.680
sample-6 5.523
sample-7 1459675.008
sample-8 8.540
sample-9 1766000.000
ANSWER
