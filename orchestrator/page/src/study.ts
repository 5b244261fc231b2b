// The study that hpo report embeds in the page (README.md has the format), and the columns unpacked.

export interface Packed {
    type: "f64" | "f32" | "u32" | "u16" | "u8";
    data: string;
    /** Present if `data` has one number, which all are. */
    times?: number;
}
export interface PackedTexts extends Packed {
    texts: string[];
}
export type Numbers = ArrayLike<number> & Iterable<number>;

/** Returns the numbers of a column. An absent number is NaN. */
export function unpack(packed: Packed): Numbers {
    const binary = atob(packed.data);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    const views = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array };
    const numbers = new views[packed.type](bytes.buffer);
    return packed.times === undefined ? numbers : new views[packed.type](packed.times).fill(numbers[0]!);
}

/** A column of texts. */
export class Texts {
    readonly texts: string[];
    readonly index: Numbers;
    constructor(packed: PackedTexts) {
        this.texts = packed.texts;
        this.index = unpack(packed);
    }
    at(row: number): string {
        return this.texts[this.index[row]!] ?? "";
    }
}

export type Dimension =
    | { name: string; kind: "float" | "int"; low: number; high: number; log: boolean }
    | { name: string; kind: "categorical"; choices: string[] };

/** The state of the code that a study runs. */
export interface Git {
    commit: string;
    /** Empty: none. */
    branch: string;
    /** The lines of `git status --porcelain`. */
    changed: string;
}

export interface Goal {
    metric: string;
    direction: "minimize" | "maximize";
}
export interface Share {
    share: number;
    deviation: number;
    sure: boolean;
}
export interface Importance {
    ended: number;
    predicted: number;
    left_out: number;
    at_step: number | null;
    reached: number;
    drawn_from: number | null;
    explained: number;
    no_effects: string | null;
    parameters: (Share & { parameter: string; best: Share | null })[];
    pairs: (Share & { parameters: [string, string] })[];
    best_trials: number;
    bounds: { parameter: string; end: "low" | "high"; value: unknown; trials: number; of: number }[];
    noise: { deviation: number; of: "repeats" | "standard_errors" | "steps" } | null;
    tied: number[];
    stopping: {
        rule: string;
        agreement: { step: number; trials: number; share: number } | null;
        cost: { about: number; trials: number; nearest: number; predicted: number; deviation: number } | null;
    }[];
    next: string[];
}
export interface Note {
    time: string;
    text: string;
}
/** What users wrote about a study or a trial. */
export interface Remarks {
    tags: string[];
    notes: Note[];
}
export interface Failure {
    trial: number;
    state: string;
    attempts: number;
    reason: string;
    log: string;
}

/** The document as it is embedded. */
export interface Document {
    schema: number;
    version: string;
    study: {
        study: string;
        folder: string;
        running: boolean;
        states: Record<string, number>;
        budget: { trials: number | null; epochs: number | null; seconds: number | null };
        metric: string;
        direction: Goal["direction"];
        best: { trial: number; value: number } | null;
        objectives?: Goal[];
        front?: { trial: number; values: Record<string, number> }[];
    } & Remarks;
    answer: {
        written: string;
        seconds: number;
        end: string;
        states: string;
        stopping: string;
        limit: string | null;
        constraints: string | null;
        front: string | null;
        step: string;
        configuration: { trial: number; yaml: string; deviation: number | null; environment: string } | null;
    };
    space: Dimension[];
    trials: {
        count: number;
        params: Record<string, Packed | PackedTexts>;
        metrics: Record<string, Packed>;
    } & Record<"state" | "rule" | "reason", PackedTexts> &
        Record<NumberColumn, Packed>;
    curves: Record<"trial" | "end" | "step" | "value", Packed> & { of: number };
    attempts: Record<"trial" | "begin" | "until" | "reserved", Packed> & Record<"where" | "end", PackedTexts>;
    sessions: { host: string; version: string; started: string; git: Git | null }[];
    load: { source: string; quantity: string; title: string; unit: string; time: Packed; average: Packed; most: Packed }[];
    failures: Failure[];
    /** Of the trials that have any, by number. */
    remarks: Record<string, Remarks>;
    source: string;
    machine: { name: string; cpu: string; cores: number; memory: number };
    /** As it is now; that of a session is as it was when the session began. */
    git: Git | null;
    importance: Importance;
}

const numberColumns = [
    "value", "counts", "best_step", "steps", "attempts", "repeat_of", "started", "ended", "seconds",
    "reserved_host", "reserved_device", "peak_host", "peak_device", "samples_per_second", "iterations_per_second",
    "communication",
] as const;
export type NumberColumn = (typeof numberColumns)[number];

/** A parameter of the space with its column: numbers, or the indices of choices. NaN where it is inactive. */
export class Parameter {
    readonly name: string;
    readonly values: Numbers;
    readonly choices: string[] | null;
    readonly log: boolean;
    readonly integer: boolean;
    readonly low: number;
    readonly high: number;
    constructor(dimension: Dimension, packed: Packed | PackedTexts) {
        this.name = dimension.name;
        this.log = dimension.kind !== "categorical" && dimension.log;
        this.integer = dimension.kind === "int";
        if (dimension.kind === "categorical") {
            const column = new Texts(packed as PackedTexts);
            this.choices = dimension.choices;
            const index = column.texts.map((text) => dimension.choices.indexOf(text));
            this.values = Float64Array.from(column.index, (i) => (index[i]! < 0 ? NaN : index[i]!));
            this.low = 0;
            this.high = Math.max(1, dimension.choices.length - 1);
        } else {
            this.choices = null;
            this.values = unpack(packed);
            this.low = dimension.low;
            this.high = dimension.high;
        }
    }
}

export interface Curves {
    /** Number of curves, and of trials that have one. */
    count: number;
    of: number;
    trial: Numbers;
    /** Points of curve i: from end[i - 1], or 0, to end[i]. */
    end: Numbers;
    step: Numbers;
    value: Numbers;
}

/** A study as the charts use it. Row r is trial r + 1. */
export class Study {
    readonly document: Document;
    readonly count: number;
    readonly state: Texts;
    readonly rule: Texts;
    readonly reason: Texts;
    readonly columns: Record<NumberColumn, Numbers>;
    readonly parameters: Parameter[];
    readonly metrics: Map<string, Numbers>;
    readonly curves: Curves;
    readonly metric: string;
    readonly minimize: boolean;
    /** Number of the best trial; 0 if there is none. */
    readonly best: number;
    /** When a trial last trained: a paused one ends with the study, long after that. NaN if it never started. */
    readonly trained: Float64Array;

    constructor(document: Document) {
        const { trials, curves } = document;
        this.document = document;
        this.count = trials.count;
        this.state = new Texts(trials.state);
        this.rule = new Texts(trials.rule);
        this.reason = new Texts(trials.reason);
        this.columns = Object.fromEntries(numberColumns.map((name) => [name, unpack(trials[name])])) as Record<NumberColumn, Numbers>;
        this.parameters = document.space.map((dimension) => new Parameter(dimension, trials.params[dimension.name]!));
        this.metrics = new Map(Object.entries(trials.metrics).map(([name, packed]) => [name, unpack(packed)]));
        const trial = unpack(curves.trial);
        this.curves = {
            count: trial.length,
            of: curves.of,
            trial,
            end: unpack(curves.end),
            step: unpack(curves.step),
            value: unpack(curves.value),
        };
        this.metric = document.study.metric;
        this.minimize = document.study.direction === "minimize";
        this.best = document.study.best?.trial ?? 0;
        this.trained = new Float64Array(this.count).fill(NaN);
        const until = unpack(document.attempts.until);
        Array.from(unpack(document.attempts.trial), (number, i) => (this.trained[number - 1] = until[i]!));
    }

    /** Whether `a` is better than `b`. */
    better(a: number, b: number): boolean {
        return this.minimize ? a < b : a > b;
    }

    /** What users wrote about a trial. */
    remarks(row: number): Remarks {
        return this.document.remarks[row + 1] ?? { tags: [], notes: [] };
    }

    private order: number[] | null = null;

    /** Rows with a finite value, the best first. */
    ranked(): readonly number[] {
        if (this.order) return this.order;
        const value = this.columns.value;
        const rows: number[] = [];
        for (let row = 0; row < this.count; row++) if (Number.isFinite(value[row])) rows.push(row);
        const sign = this.minimize ? 1 : -1;
        this.order = rows.sort((a, b) => sign * (value[a]! - value[b]!) || a - b);
        return this.order;
    }
}
