#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
part-0.bin unlisted
part-1.bin ok
part-2.bin ok
part-3.bin changed
part-4.bin ok
part-5.bin ok
part-6.bin ok
part-7.bin ok
part-8.bin ok
ANSWER
