# Ranges that were chosen elsewhere: what they are worth, as a plan, and what is wrong with others.
cp serving/four.yaml "$TMP" && cd "$TMP" || exit 9
cat >d.yaml <<'END'
schema: weft.decisions/1
kind: serve
model: four.yaml
platform: null
decisions:
  ranges:
    - {node: big, start: 0, end: 6}
    - {node: mid-0, start: 6, end: 9}
    - {node: mid-1, start: 9, end: 12}
END
"$WEFT" simulate d.yaml -o p.json
"$WEFT" check p.json
sed 's/end: 9}/end: 11}/' d.yaml >long.yaml
sed 's/start: 6/start: 7/' d.yaml >hole.yaml
sed 's/mid-0/mid-9/' d.yaml >nobody.yaml
sed 's/end: 9}/end: six}/' d.yaml >word.yaml
for file in long hole nobody word; do
    "$WEFT" simulate $file.yaml
    echo "exit $?"
done
