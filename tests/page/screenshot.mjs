// SPDX-License-Identifier: MIT
// A picture of the upper part of a report page, with a node selected and the chain highlighted.
//
//   node screenshot.mjs MODULES CHROMIUM PAGE.html TO.png
import {resolve} from "node:path";
import {frames, launch} from "./browser.mjs";

const [modules, program, file, to] = process.argv.slice(2);
const browser = await launch(resolve(modules), program);

await browser.visit(resolve(file), {width: 1280, height: 1150}, async tab => {
    await tab.evaluate(() => {
        const {graph, timeline} = window.weft.page, wanted = graph.nodes.op.indexOf("AveragePool");
        window.weft.selectNode(wanted >= 0 ? wanted : 0, "picture");
        timeline.show(0, timeline.end);
    });
    await frames(tab, 6);
    await tab.screenshot({path: to});
});
await browser.close();
