// The axes of parallel coordinates: where a value lies on an axis, and which values its labels name. Pure.
import { short } from "./format.ts";
import type { Numbers } from "./study.ts";

export interface Axis {
    name: string;
    values: Numbers;
    /** Positions of the rows: 0 at the bottom, 1 at the top; NaN without a value. */
    at: Float32Array;
    label(value: number): string;
    ticks: { at: number; text: string }[];
    /** The position of a value, and the value at a position. */
    position(value: number): number;
    value(position: number): number;
    choices: string[] | null;
}

interface AxisSource {
    name: string;
    values: Numbers;
    low: number;
    high: number;
    log: boolean;
    integer?: boolean;
    choices: string[] | null;
    /** The lower end is drawn at the top. */
    flipped?: boolean;
    /** Before the label of the bottom, where lower values lie too. */
    below?: string;
}

export function axis(source: AxisSource): Axis {
    const { name, values, choices } = source;
    let { low, high } = source;
    if (!(high > low)) (low -= 0.5), (high = low + 1);
    const log = source.log && low > 0;
    const from = log ? Math.log(low) : low;
    const span = (log ? Math.log(high) : high) - from;
    const turn = (position: number) => (source.flipped ? 1 - position : position);
    const position = (value: number) => turn(Math.min(1, Math.max(0, ((log ? Math.log(value) : value) - from) / span)));
    const value = (at: number) => (log ? Math.exp(from + turn(at) * span) : from + turn(at) * span);
    const label = (number: number) => (choices ? (choices[Math.round(number)] ?? "–") : short(number));
    const quarters = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low));
    const marked = choices ? choices.map((_, i) => i) : log ? logTicks(low, high) : source.integer ? [...new Set(quarters.map(Math.round))] : quarters;
    return {
        name,
        values,
        at: Float32Array.from(values, position),
        label,
        ticks: marked.map((number) => ({ at: position(number), text: `${position(number) === 0 ? (source.below ?? "") : ""}${label(number)}` })),
        position,
        value,
        choices,
    };
}

/** The ends and the powers of ten between them, at most about five. */
function logTicks(low: number, high: number): number[] {
    const first = Math.ceil(Math.log10(low) + 0.15);
    const last = Math.floor(Math.log10(high) - 0.15);
    const every = Math.max(1, Math.ceil((last - first + 1) / 4));
    const ticks = [low];
    for (let power = first; power <= last; power += every) ticks.push(10 ** power);
    return ticks.concat(high);
}

export function hasNumber(values: Iterable<number>): boolean {
    for (const value of values) if (Number.isFinite(value)) return true;
    return false;
}

/** The range of the finite values; of an empty column 0 to 1. */
export function rangeOf(values: Iterable<number>): [number, number] {
    let low = Infinity;
    let high = -Infinity;
    for (const value of values) {
        if (!Number.isFinite(value)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
    }
    return low <= high ? [low, high] : [0, 1];
}

/**
 * The range of a chart of the objective that a few terrible values must not flatten. `sorted` has the best first. From
 * the best to the worst, or to three times as far as the better three quarters reach where the worst lies beyond `slack` times
 * that.
 */
export function usefulRange(sorted: ArrayLike<number>, slack = 2): [number, number] {
    if (sorted.length === 0) return [0, 1];
    const best = sorted[0]!;
    const worst = sorted[sorted.length - 1]!;
    const reach = 3 * (sorted[Math.floor((sorted.length - 1) * 0.75)]! - best);
    const end = reach !== 0 && Math.abs(worst - best) > slack * Math.abs(reach) ? best + reach : worst;
    return best < end ? [best, end] : [end, best];
}

/** Numbers between two ends of a logarithmic scale: of more digits in each decade, if they are at most `most`. */
export function logMarks(low: number, high: number, most: number): number[] {
    for (const digits of [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
        const marks: number[] = [];
        for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
            for (const digit of digits) {
                const number = Number(`${digit}e${power}`);
                if (number >= low && number <= high) marks.push(number);
            }
        if (marks.length <= most) return marks;
        if (digits.length === 1) return marks.filter((_, i) => i % Math.ceil(marks.length / most) === 0);
    }
    return [];
}
