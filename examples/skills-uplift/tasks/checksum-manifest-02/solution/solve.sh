#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
part-0.bin ok
part-1.bin ok
part-2.bin ok
part-3.bin unlisted
part-4.bin ok
part-5.bin changed
part-6.bin missing
part-7.bin ok
part-8.bin missing
ANSWER
