import assert from "node:assert/strict";
import { test } from "node:test";
import { surface } from "../src/surface.ts";

const side = (at: number[], cells = 10, ordered = true) => ({ at, cells, ordered });

test("a cell has the mean of the values near it, and none where nothing is near", () => {
    const made = surface(side([0.05, 0.05, 0.95]), side([0.05, 0.05, 0.95]), [1, 3, 10], [0, 1, 2]);
    assert.equal(made.length, 100);
    assert.equal(made[0], 2);
    assert.equal(made[99], 10);
    assert.ok(Number.isNaN(made[9]!) && Number.isNaN(made[90]!));
});
test("choices have nothing in common with their neighbours", () => {
    const made = surface(side([0.25, 0.75], 2, false), side([0.5, 0.5], 1, false), [1, 9], [0, 1]);
    assert.deepEqual([...made], [1, 9]);
});
test("rows that are not named, without a position or without a value do not count", () => {
    const made = surface(side([0.5, 0.5, NaN, 0.5], 1), side([0.5, 0.5, 0.5, 0.5], 1), [1, 5, 7, NaN], [0, 2, 3]);
    assert.deepEqual([...made], [1]);
});
test("between two values lie values between them", () => {
    const made = surface(side([0.45, 0.55]), side([0.5, 0.5], 1), [0, 1], [0, 1]);
    assert.ok(made[4]! > 0 && made[4]! < made[5]! && made[5]! < 1);
});
