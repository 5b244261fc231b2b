import assert from "node:assert/strict";
import { test } from "node:test";
import { bestSoFar } from "../src/best.ts";
import { bytes, compact, duration, exact, plural, short } from "../src/format.ts";
import { lanesOf } from "../src/lanes.ts";
import { Parameter, Texts, unpack } from "../src/study.ts";

test("columns are unpacked", () => {
    // The bytes that tests/unit/page writes.
    assert.deepEqual([...unpack({ type: "f64", data: "AAAAAAAA+D8AAAAAAAD4fw==" })], [1.5, NaN]);
    assert.deepEqual([...unpack({ type: "u16", data: "AAAsAQ==" })], [0, 300]);
    assert.deepEqual([...unpack({ type: "u8", data: "Bw==", times: 3 })], [7, 7, 7]);
    assert.equal(new Texts({ type: "u8", data: "AQA=", texts: ["a", "<script>"] }).at(0), "<script>");
});
test("a choice that a trial does not have is absent", () => {
    const parameter = new Parameter({ name: "o", kind: "categorical", choices: ["x", "y"] }, { type: "u8", data: "AAEC", texts: ["y", "", "x"] });
    assert.deepEqual([...parameter.values], [1, NaN, 0]);
});
test("the best so far ignores trials that cannot be the best", () => {
    const less = (a: number, b: number) => a < b;
    assert.deepEqual(bestSoFar([0, 1, 2, 3, 4], [NaN, 3, 1, 4, 2], [1, 1, 0, 1, 1], less), [NaN, 3, 3, 3, 2]);
});
test("attempts that overlap lie in different lanes", () => {
    assert.deepEqual([...lanesOf([0, 1, 2], [0, 1, 2], [2, 3, 4])], [[0, 0], [1, 1], [2, 0]]);
});
test("numbers are short where they are shown and whole where they are copied", () => {
    assert.equal(short(0.123456), "0.1235");
    assert.equal(short(1.2e-5), "1.2e-5");
    assert.equal(short(100), "100");
    assert.equal(short(12000), "12,000");
    assert.equal(short(2126543.2), "2,127,000");
    assert.equal(short(1e10), "1e10");
    assert.equal(short(NaN), "–");
    assert.equal(compact(1500000), "1.5M");
    assert.equal(compact(12000), "12k");
    assert.equal(compact(1200), "1,200");
    assert.equal(exact(0.123456789012), "0.123456789012");
    assert.equal(duration(0.0414), "41.4 ms");
    assert.equal(duration(7200), "2 h");
    assert.equal(bytes(1.234e9), "1.23 GB");
    assert.equal(plural(1, "trial"), "1 trial");
});
