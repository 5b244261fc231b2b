import assert from "node:assert/strict";
import { test } from "node:test";
import { stateOf } from "../src/live_state.ts";

const about = (running: boolean, begun: number, ended: number, states: Record<string, number>) => ({ running, begun, ended, states, budget: { trials: 4 } });

test("a study's state is the one that hpo ls prints", () => {
    assert.equal(stateOf(about(true, 2, 1, { complete: 1 })), "running");
    assert.equal(stateOf(about(false, 4, 4, { complete: 3, failed: 1 })), "finished");
    assert.equal(stateOf(about(false, 2, 2, { complete: 2 })), "finished");
    assert.equal(stateOf(about(false, 3, 2, { complete: 2 })), "interrupted");
    assert.equal(stateOf(about(false, 0, 0, {})), "interrupted");
    assert.equal(stateOf(about(false, 4, 4, { failed: 3, diverged: 1 })), "failed");
});
