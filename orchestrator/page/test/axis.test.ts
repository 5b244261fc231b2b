import assert from "node:assert/strict";
import { test } from "node:test";
import { axis, hasNumber, logMarks, rangeOf, usefulRange } from "../src/axis.ts";

const plain = { name: "a", values: [1, 10, 100, NaN], low: 1, high: 100, log: false, choices: null };

test("a position and a value are inverse, also on a logarithmic axis", () => {
    for (const log of [false, true])
        for (const flipped of [false, true]) {
            const made = axis({ ...plain, log, flipped });
            for (const value of [1, 3, 50, 100]) assert.ok(Math.abs(made.value(made.position(value)) - value) < 1e-9);
        }
});
test("a logarithmic axis has equal ratios at equal distances", () => {
    assert.deepEqual([...axis({ ...plain, log: true }).at], [0, 0.5, 1, NaN]);
});
test("a flipped axis has its lower end at the top", () => {
    assert.equal(axis({ ...plain, flipped: true }).position(1), 1);
});
test("values outside lie at the ends, and a range without a width has a middle", () => {
    assert.equal(axis(plain).position(1e9), 1);
    assert.equal(axis({ ...plain, low: 5, high: 5 }).position(5), 0.5);
});
test("choices have a tick each", () => {
    const made = axis({ name: "b", values: [0, 1], low: 0, high: 1, log: false, choices: ["<b>", "x"] });
    assert.deepEqual(made.ticks, [{ at: 0, text: "<b>" }, { at: 1, text: "x" }]);
});
test("ranges skip what is no number", () => {
    assert.deepEqual(rangeOf([NaN, 3, Infinity, 1]), [1, 3]);
    assert.deepEqual(rangeOf([]), [0, 1]);
    assert.equal(hasNumber([NaN]), false);
});
test("a few terrible values do not flatten a chart", () => {
    const losses = Array.from({ length: 100 }, (_, i) => 1 + i / 100).concat(1e9);
    assert.ok(usefulRange(losses)[1] < 4);
    assert.deepEqual(usefulRange([1, 2, 3]), [1, 3]);
    assert.deepEqual(usefulRange([0.9, 0.8]), [0.8, 0.9]);
    assert.deepEqual(usefulRange([]), [0, 1]);
});
test("logarithmic marks are few and round", () => {
    assert.deepEqual(logMarks(256, 1024, 8), [300, 400, 500, 600, 800, 1000]);
    assert.deepEqual(logMarks(256, 1024, 2), [500, 1000]);
    assert.deepEqual(logMarks(1e-4, 1, 8), [1e-4, 1e-3, 1e-2, 1e-1, 1]);
});
