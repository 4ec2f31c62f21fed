#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
Hana,150376
Abel,117951
Edda,95700
Dora,75429
Kofi,62975
Ines,59077
Goran,59044
Bruno,27308
Lena,24634
Farah,7659
ANSWER
