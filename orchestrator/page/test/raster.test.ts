import assert from "node:assert/strict";
import { test } from "node:test";
import { Raster } from "../src/raster.ts";

function total(raster: Raster): number {
    let sum = 0;
    for (let y = 0; y < raster.height; y++) for (let x = 0; x < raster.width; x++) sum += raster.at(x, y);
    return sum;
}

test("a line covers one pixel for each step along its longer side", () => {
    for (const [x, y] of [[9, 4], [4, 9], [9, 0], [0, 9]] as const) {
        const raster = new Raster(12, 12);
        raster.line(0, 0, x, y);
        assert.equal(total(raster), Math.max(x, y) + 1);
    }
});
test("a line that is taken out again leaves nothing", () => {
    const raster = new Raster(20, 10);
    raster.line(-5, 3.3, 30, 8.7);
    assert.ok(total(raster) > 10);
    raster.line(-5, 3.3, 30, 8.7, -1);
    assert.equal(total(raster), 0);
});
test("parts outside are left out", () => {
    const raster = new Raster(4, 4);
    raster.line(0, -100, 3, -50);
    raster.line(0, 200, 3, 90);
    assert.equal(total(raster), 0);
});
test("a dot covers a square, without its parts outside", () => {
    const raster = new Raster(8, 6);
    raster.dot(4, 3, 2);
    raster.dot(4, 3, 2);
    assert.equal(raster.at(3, 2), 2);
    assert.equal(raster.at(4, 3), 2);
    assert.equal(total(raster), 8);
    raster.dot(0, 0, 2);
    raster.dot(8, 6, 2);
    assert.equal(total(raster), 10);
    raster.dot(-3, 20, 2);
    raster.dot(NaN, 2, 2);
    assert.equal(total(raster), 10);
});
