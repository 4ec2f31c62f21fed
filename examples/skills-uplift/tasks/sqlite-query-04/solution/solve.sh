#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
Hana,219310
Abel,212921
Goran,161754
Bruno,106905
Lena,105701
Farah,98851
Kofi,72524
Jonas,40505
ANSWER
