// Tables of many rows: sorted by a click on a column's name, and shown in pages.
import { copyButton, h } from "./dom.ts";

export interface Column {
    title: string;
    text(row: number): string;
    /** By which rows are sorted; default: the text. NaN comes last. */
    value?(row: number): number;
    /** All digits, for the clipboard; default: the text. */
    exact?(row: number): string;
    number?: boolean;
    /** Sentences, which are wrapped. */
    long?: boolean;
}

export interface TableOptions {
    rows: number[];
    columns: Column[];
    pick?: ((row: number) => void) | undefined;
    picked?: () => number;
    sort?: { column: number; descending: boolean };
    size?: number;
}

export interface Table {
    element: HTMLElement;
    show(rows: number[]): void;
    refresh(): void;
}

export function table(options: TableOptions): Table {
    const { columns, pick } = options;
    const size = options.size ?? 25;
    let rows = options.rows;
    let sort = options.sort ?? null;
    let page = 0;

    const heads = columns.map((column, i) => {
        const button = h("button", { type: "button" }, column.title);
        button.addEventListener("click", () => {
            sort = { column: i, descending: sort?.column === i ? !sort.descending : false };
            page = 0;
            order();
            draw();
        });
        return h("th", { scope: "col", class: column.number ? "number" : "" }, button);
    });
    const body = h("tbody");
    const shown = h("span", { class: "shown" });
    const back = h("button", { type: "button" }, "‹ Previous");
    const next = h("button", { type: "button" }, "Next ›");
    back.addEventListener("click", () => (page--, draw()));
    next.addEventListener("click", () => (page++, draw()));
    const pager = h(
        "div",
        { class: "pager" },
        back,
        shown,
        next,
        copyButton(() => [columns.map((c) => c.title), ...rows.map((row) => columns.map((c) => (c.exact ?? c.text)(row)))].map((cells) => cells.join("\t")).join("\n"), "all rows, for a spreadsheet", "Copy all rows"),
    );
    const element = h("div", { class: "table" }, h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" }, h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body)), pager);

    function order(): void {
        if (!sort) return;
        const { column, descending } = sort;
        const { value, text } = columns[column]!;
        const sign = descending ? -1 : 1;
        rows = value
            ? rows.slice().sort((a, b) => {
                  const [x, y] = [value(a), value(b)];
                  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
                  return sign * (x - y) || a - b;
              })
            : rows.slice().sort((a, b) => sign * text(a).localeCompare(text(b)) || a - b);
    }
    function draw(): void {
        const pages = Math.max(1, Math.ceil(rows.length / size));
        page = Math.min(Math.max(0, page), pages - 1);
        heads.forEach((head, i) => head.setAttribute("aria-sort", sort?.column === i ? (sort.descending ? "descending" : "ascending") : "none"));
        const from = page * size;
        const visible = rows.slice(from, from + size);
        body.replaceChildren(
            ...visible.map((row) => {
                const line = h(
                    "tr",
                    {},
                    ...columns.map((column, i) => {
                        const cell = h(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : { class: column.number ? "number" : column.long ? "long" : "", title: column.long ? false : column.text(row) });
                        if (i === 0 && pick) {
                            const button = h("button", { type: "button", class: "pick", "aria-pressed": options.picked?.() === row }, column.text(row));
                            button.addEventListener("click", () => pick(row));
                            cell.append(button);
                        } else cell.textContent = column.text(row);
                        return cell;
                    }),
                );
                if (options.picked?.() === row) line.className = "picked";
                return line;
            }),
        );
        shown.textContent = rows.length === 0 ? "no rows" : `${(from + 1).toLocaleString("en-US")}–${(from + visible.length).toLocaleString("en-US")} of ${rows.length.toLocaleString("en-US")}`;
        back.disabled = page === 0;
        next.disabled = page >= pages - 1;
        pager.classList.toggle("single", pages === 1);
    }
    order();
    draw();
    return {
        element,
        show: (changed) => {
            rows = changed;
            order();
            draw();
        },
        refresh: draw,
    };
}
