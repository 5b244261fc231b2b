import assert from "node:assert/strict";
import { test } from "node:test";
import { axis } from "../src/axis.ts";
import { Selection } from "../src/selection.ts";

const axes = [
    axis({ name: "a", values: [0, 0.5, 1], low: 0, high: 1, log: false, choices: null }),
    axis({ name: "b", values: [1, NaN, 0], low: 0, high: 1, log: false, choices: null }),
];

test("a trial must meet all ranges, and an absent value meets none", () => {
    const selection = new Selection(axes, 3);
    selection.set(0, { low: 0, high: 0.5 });
    assert.deepEqual([...selection.selected], [1, 1, 0]);
    selection.set(1, { low: 0, high: 1 });
    assert.deepEqual([...selection.selected], [1, 0, 0]);
    assert.equal(selection.size, 1);
    assert.deepEqual(selection.filters, [0, 1]);
});
test("the rows that enter or leave are returned", () => {
    const selection = new Selection(axes, 3);
    assert.deepEqual(selection.set(0, { low: 0.4, high: 1 }), [0]);
    assert.deepEqual(selection.set(0, { low: 0.6, high: 1 }), [1]);
    assert.deepEqual(selection.set(0, null), [0, 1]);
    assert.equal(selection.filtered, false);
});
