// SPDX-License-Identifier: MIT
// A picture of the upper part of a report page, with a node selected that does not run where the
// others do.
//
//   node screenshot.mjs MODULES CHROMIUM PAGE.html TO.png
import {resolve} from "node:path";
import {frames, launch} from "./browser.mjs";

const [modules, program, file, to] = process.argv.slice(2);
const browser = await launch(resolve(modules), program);

await browser.visit(resolve(file), {width: 1280, height: 1185}, async tab => {
    await tab.evaluate(() => {
        const {graph, timeline} = window.weft.page, {device, op} = graph.nodes, last = Math.max(...device);
        const wanted = device.findIndex((d, i) => d === last && op[i] === "Conv");
        window.weft.selectNode(Math.max(wanted, 0), "picture");
        timeline.show(0, timeline.end);
    });
    await frames(tab, 6);
    await tab.screenshot({path: to});
});
await browser.close();
