/* SPDX-License-Identifier: MIT */
/* In the place of a model: it calls a function that whatever is in the process has. */
int tenon_question(void);

int ask(void);
int ask(void) { return tenon_question(); }
