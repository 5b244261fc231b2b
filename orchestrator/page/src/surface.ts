// A smooth surface through scattered values over two axes. Pure.
import type { Numbers } from "./study.ts";

/** A side of the surface: `cells` equal parts of the range 0 to 1. Neighbours of an unordered side have nothing in common. */
export interface Side {
    at: Numbers;
    cells: number;
    ordered: boolean;
}

/** Weights of the neighbours at a distance of 0, 1, ... cells: a normal density, of which two deviations count. */
function kernel(side: Side, width: number): number[] {
    const deviation = side.ordered ? width * side.cells : 0;
    const reach = Math.floor(2 * deviation);
    return Array.from({ length: reach + 1 }, (_, distance) => Math.exp(-0.5 * (distance / Math.max(deviation, 1e-9)) ** 2));
}

/** Adds to each cell its neighbours along one side, with their weights. */
function smoothed(cells: Float64Array, count: number, step: number, lines: number, lineStep: number, weights: number[]): Float64Array {
    const out = new Float64Array(cells.length);
    for (let line = 0; line < lines; line++)
        for (let i = 0; i < count; i++)
            for (let j = Math.max(0, i - weights.length + 1); j < Math.min(count, i + weights.length); j++) out[line * lineStep + i * step]! += weights[Math.abs(i - j)]! * cells[line * lineStep + j * step]!;
    return out;
}

/**
 * The mean of the values near each cell (kernel regression: Nadaraya 1964, Watson 1964), by rows of `across.cells` cells from
 * the lower end of both sides. NaN where no value is near. The kernel narrows as values become more, as Scott's rule has it.
 */
export function surface(across: Side, up: Side, values: Numbers, rows: readonly number[]): Float64Array {
    const sums = new Float64Array(across.cells * up.cells);
    const counts = new Float64Array(across.cells * up.cells);
    let count = 0;
    for (const row of rows) {
        const [x, y, value] = [across.at[row]!, up.at[row]!, values[row]!];
        if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1) || !Number.isFinite(value)) continue;
        const cell = Math.min(across.cells - 1, Math.floor(x * across.cells)) + across.cells * Math.min(up.cells - 1, Math.floor(y * up.cells));
        sums[cell]! += value;
        counts[cell]! += 1;
        count++;
    }
    const width = 0.25 * Math.max(1, count) ** (-1 / 6);
    const both = (cells: Float64Array) => smoothed(smoothed(cells, across.cells, 1, up.cells, across.cells, kernel(across, width)), up.cells, across.cells, across.cells, 1, kernel(up, width));
    const [sum, weight] = [both(sums), both(counts)];
    return sum.map((each, i) => (weight[i]! > 0 ? each / weight[i]! : NaN));
}
