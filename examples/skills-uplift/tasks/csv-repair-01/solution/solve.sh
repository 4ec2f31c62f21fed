#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
137,Farah,Brno,46
221,Kofi,Turku,95
255,Lena,Turku,20
356,Lena,Basel,94
377,Ines,Porto,3
467,Hana,Lyon,28
675,Bruno,Lyon,5
903,Jonas,Gent,84
980,Hana,Split,70
991,Goran,Brno,29
998,Farah,Turku,29
ANSWER
