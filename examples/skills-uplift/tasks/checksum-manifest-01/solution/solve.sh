#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
part-0.bin missing
part-1.bin unlisted
part-2.bin unlisted
part-3.bin ok
part-4.bin unlisted
part-5.bin ok
part-6.bin changed
part-7.bin ok
part-8.bin unlisted
ANSWER
