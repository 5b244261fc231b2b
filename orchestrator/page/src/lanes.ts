// Places bars that overlap beside each other. Pure.
/** Puts attempts of one device into as few lanes as needed, so that none overlaps another. `rows` are by their begin. */
export function lanesOf(rows: number[], begin: ArrayLike<number>, until: ArrayLike<number>): Map<number, number> {
    const free: number[] = [];
    const lanes = new Map<number, number>();
    for (const row of rows) {
        let lane = free.findIndex((time) => time <= begin[row]!);
        if (lane < 0) lane = free.length;
        free[lane] = until[row]!;
        lanes.set(row, lane);
    }
    return lanes;
}
