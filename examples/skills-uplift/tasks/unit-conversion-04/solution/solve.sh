#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
sample-0 105.971
sample-1 110.132
sample-2 7861000.000
sample-3 27.079
sample-4 17.772
sample-5 3.053
sample-6 35.657
sample-7 36830.000
sample-8 0.692
sample-9 93.550
ANSWER
