import assert from "node:assert/strict";
import { test } from "node:test";
import { basis } from "../src/basis.ts";
import type { Importance } from "../src/study.ts";

const made = (of: Partial<Importance>) => basis({ ended: 9, predicted: 0, left_out: 0, at_step: null, reached: 0, drawn_from: null, ...of } as Importance);

test("the text says from which trials the shares are, and whether at an early step", () => {
    assert.equal(made({}), "From 9 trials trained to an end");
    assert.equal(made({ predicted: 3, left_out: 2 }), "From 9 trials trained to an end and 3 whose end is predicted; 2 are left out, since nothing is known of their end");
    assert.equal(made({ predicted: 3, drawn_from: 90000 }), "From 9 trials trained to an end and 3 whose end is predicted, drawn at random from the 90000 that ended");
    assert.equal(made({ at_step: 3, reached: 40, left_out: 8 }), "From 40 trials that reached it; 8 that were stopped earlier are left out. Too few were trained to an end to tell what that depends on");
});
