/* SPDX-License-Identifier: MIT */
/* search.js: sections whose words begin with those that were typed. INDEX (search_index.js) has a row per section:
 * [page, anchor, title of the page, title of the section, its words with a space before each]. */

/* The best sections for a query, at most n. Every word must be there; titles count most. */
function search(index, query, n) {
    const words = query.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu) || [];
    const worth = ([, , page, section, text]) => {
        let sum = 0;
        for (const word of words) {
            const inSection = (" " + section.toLowerCase()).includes(" " + word), inPage = (" " + page.toLowerCase()).includes(" " + word);
            if (!inSection && !inPage && !text.includes(" " + word))
                return 0;
            sum += inSection ? 8 : inPage ? 4 : text.includes(" " + word + " ") ? 2 : 1;
        }
        return sum;
    };

    return words.length === 0 ? [] : index.map((row, i) => [worth(row), i]).filter(([sum]) => sum > 0)
        .sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, n).map(([, i]) => index[i]);
}

function showFound(field, found) {
    const rows = search(INDEX, field.value, 12);

    found.hidden = field.value.trim() === "";
    found.replaceChildren(...rows.map(([page, anchor, title, section]) => {
        const link = document.createElement("a"), place = document.createElement("small");
        link.href = page + (anchor ? "#" + anchor : "");
        link.textContent = section;
        place.textContent = title;
        link.append(place);
        return link;
    }));
    if (rows.length === 0)
        found.textContent = "nothing found";
}

if (typeof document !== "undefined") {
    const field = document.getElementById("search"), found = document.getElementById("found");
    field.addEventListener("input", () => showFound(field, found));
    field.addEventListener("keydown", e => {
        if (e.key === "Enter" && found.querySelector("a"))
            location.href = found.querySelector("a").href;
        if (e.key === "Escape") {
            field.value = "";
            showFound(field, found);
        }
    });
    addEventListener("keydown", e => {
        if (e.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
            e.preventDefault();
            field.focus();
        }
    });
}
