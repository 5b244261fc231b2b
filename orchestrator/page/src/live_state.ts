// The state of a study in a word.

interface Counted {
    running: boolean;
    states: Record<string, number>;
    budget: { trials: number };
    begun: number;
    ended: number;
}

/** As hpo ls prints it. */
export function stateOf({ running, states, budget, begun, ended }: Counted): string {
    if (running) return "running";
    if (ended < budget.trials && (begun === 0 || ended < begun)) return "interrupted";
    const { failed = 0, diverged = 0 } = states;
    return begun > 0 && failed + diverged === begun ? "failed" : "finished";
}
