#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
id[0][0].name="Basel"
id[0][0].tags=58
id[0][1][0]=null
id[0][1][1]=false
owner=null
site.site=true
site.state.id=12
site.state.name[0]=false
site.state.name[1]=true
site.state.state.id=2
site.state.state.parts=51
site.state.state.site=true
site.state.state.tags=null
tags="Lyon"
ANSWER
