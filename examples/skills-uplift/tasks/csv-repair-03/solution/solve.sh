#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
112,Goran,Brno,36
256,Farah,Gent,16
278,Lena,Gent,20
281,Farah,Turku,12
518,Goran,Basel,56
667,Farah,Lyon,68
692,Kofi,Basel,37
717,Abel,Porto,76
810,Lena,Turku,47
945,Lena,Turku,96
983,Farah,Gent,38
998,Dora,Turku,96
ANSWER
