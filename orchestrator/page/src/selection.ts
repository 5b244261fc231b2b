// Which trials are selected: by ranges on axes, all of which a trial must meet. Pure.
import type { Axis } from "./axis.ts";

/** Positions on an axis, both included. */
export interface Range {
    low: number;
    high: number;
}

export class Selection {
    readonly selected: Uint8Array;
    /** Number of selected rows. */
    size: number;
    private readonly ranges = new Map<number, Range>();

    constructor(
        private readonly axes: Axis[],
        private readonly rows: number,
    ) {
        this.selected = new Uint8Array(rows).fill(1);
        this.size = rows;
    }

    range(axis: number): Range | undefined {
        return this.ranges.get(axis);
    }
    get filtered(): boolean {
        return this.ranges.size > 0;
    }
    get filters(): number[] {
        return [...this.ranges.keys()].sort((a, b) => a - b);
    }

    /** Sets or, without a range, removes the range of an axis. Returns the rows that enter or leave. */
    set(axis: number, range: Range | null): number[] {
        const changed: number[] = [];
        if (range) this.ranges.set(axis, range);
        else this.ranges.delete(axis);
        const tests = [...this.ranges].map(([i, { low, high }]) => ({ at: this.axes[i]!.at, low: low - 1e-6, high: high + 1e-6 }));
        for (let row = 0; row < this.rows; row++) {
            let meets = 1;
            for (const test of tests) {
                const at = test.at[row]!;
                if (!(at >= test.low && at <= test.high)) {
                    meets = 0;
                    break;
                }
            }
            if (meets === this.selected[row]) continue;
            this.selected[row] = meets;
            this.size += meets ? 1 : -1;
            changed.push(row);
        }
        return changed;
    }
}
