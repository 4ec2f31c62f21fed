#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
Bruno,138697
Lena,137580
Dora,64842
Kofi,58253
Abel,52265
Jonas,46998
Ines,23011
Edda,6619
Chen,126
ANSWER
