# Files that are no problems of serving: each refusal names file, line, value and what was expected.
cp serving/four.yaml "$TMP" && cd "$TMP" || exit 9
sed 's/900, 460/900, -460/' four.yaml >negative.yaml
sed 's/900, 460/900, x/' four.yaml >word.yaml
sed 's/count: 2/count: 2000/' four.yaml >many.yaml
sed 's/name: small/name: big/' four.yaml >twice.yaml
sed 's/name: small/name: sink/' four.yaml >sink.yaml
sed 's/from: small, to: big/from: small, to: bog/' four.yaml >nobody.yaml
sed 's/from: small, to: big/from: 3, to: 9/' four.yaml >number.yaml
sed 's/from: small, to: big/from: small, to: source/' four.yaml >back.yaml
sed 's/from: small, to: big/from: big, to: big/' four.yaml >self.yaml
sed 's/layers: 12/layers: 0/' four.yaml >layers.yaml
sed 's/tokens_per_s: 100/token_per_s: 100/' four.yaml >key.yaml
sed 's/serving.1/serving\/2/' four.yaml >schema.yaml
sed 's/- {from: all, to: all, tokens_per_s: 400}/- {from: small, to: big, tokens_per_s: 400}/' four.yaml >again.yaml
for file in negative word many twice sink nobody number back self layers key schema again; do
    "$WEFT" serve $file.yaml
    echo "exit $?"
done
"$WEFT" serve none.yaml
"$WEFT" serve four.yaml --solver fastest
"$WEFT" serve four.yaml --objective speed
