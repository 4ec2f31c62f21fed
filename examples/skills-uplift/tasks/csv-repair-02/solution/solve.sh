#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
148,Chen,Turku,56
212,Kofi,Split,90
263,Abel,Porto,76
298,Edda,Turku,60
447,Ines,Basel,63
520,Dora,Split,89
667,Lena,Turku,44
701,Lena,Porto,12
779,Hana,Turku,27
803,Kofi,Gent,38
821,Ines,Basel,31
ANSWER
