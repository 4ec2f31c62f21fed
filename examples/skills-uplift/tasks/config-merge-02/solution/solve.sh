#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
cache.path=path17
cache.port=port64
cache.retry=retry49
cache.size=size27
log.host=host69
log.level=level37
log.path=path49
log.size=size10
mail.host=host4
mail.level=level62
mail.port=port23
mail.retry=retry95
mail.size=size2
server.level=level71
server.size=size82
ANSWER
