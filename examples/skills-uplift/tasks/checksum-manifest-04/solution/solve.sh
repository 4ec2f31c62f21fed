#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
part-0.bin ok
part-1.bin changed
part-2.bin ok
part-3.bin ok
part-4.bin unlisted
part-5.bin changed
part-6.bin ok
part-7.bin changed
part-8.bin changed
ANSWER
