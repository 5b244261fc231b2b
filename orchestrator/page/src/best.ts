// The best value so far. Pure.
/** The best value after each of the rows, in their order. Trials that cannot be the best (`counts` 0) change nothing. */
export function bestSoFar(rows: number[], value: ArrayLike<number>, counts: ArrayLike<number>, better: (a: number, b: number) => boolean): number[] {
    let best = NaN;
    return rows.map((row) => {
        const own = value[row]!;
        if (counts[row] && Number.isFinite(own) && (Number.isNaN(best) || better(own, best))) best = own;
        return best;
    });
}
