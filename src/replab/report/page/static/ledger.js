// The ledger's tables sort.
import { sortable } from "./tables.js";

for (const table of document.querySelectorAll("table.sortable")) sortable(table);
