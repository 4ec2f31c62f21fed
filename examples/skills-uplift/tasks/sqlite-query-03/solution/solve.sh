#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
Farah,143308
Edda,138599
Hana,111621
Chen,80658
Dora,68950
Lena,43232
Goran,40637
Jonas,30922
Bruno,15894
Kofi,13145
ANSWER
