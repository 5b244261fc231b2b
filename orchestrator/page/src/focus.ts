// The trial that the reader has picked, which every chart marks beside the best one.

export class Focus {
    private picked = -1;
    private readonly listeners: (() => void)[] = [];
    constructor(private readonly best: number) {}

    /** The row that is picked; -1: none. */
    get row(): number {
        return this.picked;
    }
    /** The rows that charts mark: of the best trial, then the picked one. */
    rows(): number[] {
        return [this.best - 1, this.picked].filter((row, i, all) => row >= 0 && all.indexOf(row) === i);
    }
    /** Picks a row; once more: none. */
    readonly pick = (row: number): void => {
        this.picked = row === this.picked ? -1 : row;
        for (const listener of this.listeners) listener();
    };
    /** Shows what was picked elsewhere on the page. */
    show(row: number): void {
        if (row !== this.picked) this.pick(row < 0 ? this.picked : row);
    }
    onChange(listener: () => void): void {
        this.listeners.push(listener);
    }
}
