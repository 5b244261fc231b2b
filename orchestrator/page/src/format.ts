// Numbers as people read them.

/** Four significant digits, without trailing zeros: "0.8742", "1.2e-5", "12,000". */
export function short(value: number): string {
    if (Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    if (size >= 1e7 || (size > 0 && size < 1e-3)) return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
    if (Number.isInteger(value)) return value.toLocaleString("en-US");
    const rounded = Number(value.toPrecision(4));
    return size >= 1e4 ? rounded.toLocaleString("en-US") : String(rounded);
}

/** As short as an axis needs: "12k", "1.5M". */
export function compact(value: number): string {
    const size = Math.abs(value);
    for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) if (size >= 10 * unit || (size >= unit && unit > 1e3)) return `${short(value / unit)}${letter}`;
    return short(value);
}

/** All digits, for the clipboard. */
export function exact(value: number): string {
    return Number.isNaN(value) ? "" : String(value);
}

export function duration(seconds: number): string {
    if (!Number.isFinite(seconds)) return "–";
    if (seconds < 1) return `${short(seconds * 1000)} ms`;
    if (seconds < 90) return `${Number(seconds.toPrecision(3))} s`;
    if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
    if (seconds < 172800) return `${Number((seconds / 3600).toPrecision(3))} h`;
    return `${Number((seconds / 86400).toPrecision(3))} days`;
}

export function bytes(size: number): string {
    if (!Number.isFinite(size)) return "–";
    let unit = 0;
    while (size >= 999.5 && unit < 5) (size /= 1000), unit++;
    return `${Number(size.toPrecision(3))} ${["B", "kB", "MB", "GB", "TB", "PB"][unit]}`;
}

export function percent(share: number): string {
    return `${Math.round(share * 100)} %`;
}

/** "1 trial", "3 trials". */
export function plural(count: number, noun: string): string {
    return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}
