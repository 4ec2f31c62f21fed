#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
109,Hana,Turku,47
229,Farah,Turku,37
491,Dora,Gent,58
513,Ines,Lyon,84
676,Goran,Turku,22
752,Edda,Split,13
799,Edda,Basel,31
817,Goran,Porto,50
867,Lena,Brno,68
906,Bruno,Brno,10
931,Edda,Porto,27
986,Farah,Basel,47
ANSWER
