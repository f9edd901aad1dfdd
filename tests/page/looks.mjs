// SPDX-License-Identifier: MIT
// The page at several widths, light and dark, and on paper: nothing overlaps, nothing is cut,
// everything can be read.
import {check, equal, frames} from "./browser.mjs";

// Elements that must hold their text, and their boxes.
function boxes() {
    const of = node => {
        const {left, right, top, bottom} = node.getBoundingClientRect();
        return {left, right, top, bottom, text: node.textContent.slice(0, 60), isCut: node.scrollWidth > node.clientWidth + 1 ||
            node.scrollHeight > node.clientHeight + 2};
    };
    const all = selector => [...document.querySelectorAll(selector)].filter(node => node.offsetParent !== null).map(of);

    return {
        width: document.documentElement.clientWidth, scroll: document.documentElement.scrollWidth,
        cards: all(".card"), panels: all(".panel"), tools: all(".panel > header > *, #head > *"),
        titles: all("h1, h2, .card .big, .card .note, .legend > span, button:not(.link):not(.sort)"),
        canvases: [...document.querySelectorAll("canvas")].filter(c => c.offsetParent !== null)
            .map(c => ({name: c.className, width: c.clientWidth, pixels: c.width})),
    };
}

function checkApart(list, what) {
    for (let i = 0; i < list.length; i++)
        for (let k = i + 1; k < list.length; k++) {
            const x = Math.min(list[i].right, list[k].right) - Math.max(list[i].left, list[k].left);
            const y = Math.min(list[i].bottom, list[k].bottom) - Math.max(list[i].top, list[k].top);
            check(x < 1 || y < 1, `${what} overlap: '${list[i].text}' and '${list[k].text}'`);
        }
}

async function layout(tab) {
    const at = await tab.evaluate(boxes);

    check(at.scroll <= at.width, `the page is ${at.scroll} pixels wide, the window ${at.width}`);
    checkApart(at.cards, "cards");
    checkApart(at.panels, "panels");
    checkApart(at.tools, "tools");
    for (const box of [...at.cards, ...at.titles])
        check(!box.isCut, `text is cut: '${box.text}'`);
    for (const box of at.panels)
        check(box.left >= 0 && box.right <= at.width + 0.5, `a panel is outside: '${box.text}'`);
    for (const canvas of at.canvases)
        check(canvas.width >= 60, `canvas ${canvas.name} is ${canvas.width} pixels wide`);
}

async function layouts(tab) {
    for (const width of [800, 1280, 1920]) {
        await tab.setViewportSize({width, height: 1000});
        await frames(tab);
        await layout(tab);
        await theme(tab);
    }
}

// Contrast of WCAG between the colours of the style sheet.
function contrasts() {
    const style = getComputedStyle(document.documentElement);
    const light = name => {
        const text = style.getPropertyValue("--" + name).trim();
        const [r, g, b] = [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16) / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (a, b) => {
        const x = light(a) + 0.05, y = light(b) + 0.05;
        return Math.max(x, y) / Math.min(x, y);
    };

    return [["text", "panel", 7], ["text", "faint", 7], ["dim", "panel", 4.5], ["dim", "faint", 4.5], ["accent", "panel", 4.5],
        ["good", "faint", 4.5], ["alert", "panel", 4.5], ["select", "panel", 3],
        ...Array.from({length: 8}, (_, i) => ["c" + i, "faint", 1.6])].map(([a, b, least]) => ({a, b, least, is: ratio(a, b)}));
}

// The first canvas as a picture; what is out of sight is not drawn.
async function picture(tab) {
    if (await tab.locator("canvas").count() === 0)
        return "";
    await tab.locator("canvas").first().scrollIntoViewIfNeeded();
    await frames(tab);
    return tab.evaluate(() => document.querySelector("canvas").toDataURL());
}

async function theme(tab) {
    const dark = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await dark(), drawn = await picture(tab);

    for (let i = 0; i < 2; i++) {
        for (const c of await tab.evaluate(contrasts))
            check(c.is >= c.least, `contrast of ${c.a} on ${c.b} is ${c.is.toFixed(2)}, must be ${c.least}`);
        await tab.locator("#theme").click();
        await frames(tab);
        await layout(tab);
        if (i === 0) {
            check(await dark() !== before, "the button does not change the theme");
            check(!drawn || await picture(tab) !== drawn, "canvases keep their colours");
        }
    }
    equal(await dark(), before, "theme after two clicks");
}

async function paper(tab) {
    await tab.emulateMedia({media: "print"});
    await frames(tab);
    const at = await tab.evaluate(() => ({body: getComputedStyle(document.body).backgroundColor,
        text: getComputedStyle(document.body).color, head: getComputedStyle(document.querySelector("#head")).position,
        nButtons: [...document.querySelectorAll("button:not(.sort):not(.link)")].filter(b => b.offsetParent !== null).length,
        cut: [...document.querySelectorAll(".wide, .list, .scroll, .command")].filter(n => n.offsetParent !== null &&
            ["auto", "scroll", "hidden"].includes(getComputedStyle(n).overflowY)).map(n => n.className),
        canvases: [...document.querySelectorAll("canvas")].filter(c => c.offsetParent !== null)
            .map(c => [c.className, c.width / c.clientWidth, new Set(c.getContext("2d").getImageData(0, 0, c.width, c.height).data).size])}));

    equal(at.body, "rgb(255, 255, 255)", "colour of the paper");
    check(/rgb\((\d+), (\d+), (\d+)\)/.exec(at.text).slice(1).every(v => Number(v) < 80), "text is not dark: " + at.text);
    equal(at.nButtons, 0, "buttons on paper");
    equal(at.head, "static", "head on paper");
    equal(at.cut.join(), "", "boxes that scroll on paper");
    for (const [name, ratio, nValues] of at.canvases) {
        check(ratio > 1.9, `canvas ${name} is not drawn for paper: ${ratio}`);
        check(nValues > 3, `canvas ${name} is empty on paper`);
    }
    const file = await tab.pdf({preferCSSPageSize: true, printBackground: true});
    check(file.length > 5000, "the printed file is empty");
    await tab.emulateMedia({media: "screen"});
    await frames(tab);
    await layout(tab);
}

export function tests(pages) {
    const list = [];

    for (const page of [...pages.real, ...pages.madeUp, ...pages.hostile]) {
        list.push([`${page.name}: layout of 800, 1280 and 1920 pixels, light and dark`, browser => browser.visit(page.file, {}, layouts)]);
        list.push([`${page.name}: paper`, browser => browser.visit(page.file, {colorScheme: "dark"}, paper)]);
    }
    return list;
}
