# Pages stay small: below 3 MB for resnet50, below 15 MB for 10,000 tasks on 4 devices that all differ.
cd "$TMP" || exit 2
size() { if [ "$(wc -c <"$1")" -lt "$2" ]; then echo "$1 is small"; else ls -l "$1"; fi; }
"$WEFT" place resnet50 --on edge-soc --solver lookahead --report resnet50.html --quiet
size resnet50.html 3000000
awk 'BEGIN {
    printf "{\"schema\": \"weft.tasks/1\", \"devices\": [\"a\", \"b\", \"c\", \"d\"], \"tasks\": ["
    for (i = 0; i < 10000; i++)
        printf "%s{\"name\": \"task_%d\", \"seconds\": [%.4g, %.4g, %.4g, %.4g], \"memory\": %d}", i ? ", " : "", i,
            1 + i * 7 % 11 / 3, 1 + i * 5 % 13 / 3, 1 + i * 3 % 17 / 3, 1 + i * 2 % 19 / 3, 1000 + i % 1000
    printf "], \"edges\": ["
    for (i = 1; i < 10000; i++) {
        printf "%s{\"from\": \"task_%d\", \"to\": \"task_%d\", \"amount\": 0.25}", i == 1 ? "" : ", ", int(i / 2), i
        if (i > 2)
            printf ", {\"from\": \"task_%d\", \"to\": \"task_%d\", \"amount\": 0.5}", i - 1, i
    }
    print "]}"
}' >tasks.json
"$WEFT" place tasks.json --solver heft -o plan.json --quiet && "$WEFT" report plan.json -o tasks.html --quiet
echo "exit $?"
size tasks.html 15000000
