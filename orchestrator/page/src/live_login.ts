// Asks for the token.
import { h } from "./dom.ts";

export function loginPage(): HTMLElement[] {
    document.title = "hpo – token";
    const input = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
    const problem = h("p", { class: "problem", role: "alert" });
    const form = h("form", {}, h("label", { for: "token" }, "Token of this server"), input, h("button", { type: "submit" }, "Enter"), problem);
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const response = await fetch("/api/login", { method: "POST", headers: { Authorization: `Bearer ${input.value.trim()}` } });
        if (response.ok) location.reload();
        else problem.textContent = "This is not the token, which lies in the file that hpo serve was started with (--token-file).";
    });
    return [h("main", {}, h("section", { class: "login" }, h("h1", {}, "hpo"), form))];
}
