// Recurrent models: a work-item handles an element of the output, or of its gradient.

KERNEL swap_rows(GLOBAL u8* arena, GLOBAL u8* other, const SwapRowsArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i >= a.count) return;
    const i64 row = i / a.columns;  // of the output
    const i64 from = row % a.outer * a.inner + row / a.outer;
    FLOATS(a.output)[i] = FLOATS(a.input)[from * a.columns + i % a.columns];
}

FUNCTION float tanh_of(float x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; }

KERNEL gru_step(GLOBAL u8* arena, GLOBAL u8* other, const GruStepArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i >= a.count) return;
    const u32 column = (u32)(i % a.width);
    const i64 first = i / a.width * 3 * a.width + column;  // of the three numbers of this element
    GLOBAL float* gates = FLOATS(a.gates) + first;
    GLOBAL const float* h = FLOATS(a.recurrent) + first;
    GLOBAL const float* b = FLOATS(a.input_bias) + column;
    GLOBAL const float* c = FLOATS(a.recurrent_bias) + column;
    const u32 w = a.width;
    const float r = sigmoid(gates[0] + b[0] + h[0] + c[0]);
    const float z = sigmoid(gates[w] + b[w] + h[w] + c[w]);
    const float through = h[2u * w] + c[2u * w];
    const float n = tanh_of(gates[2u * w] + b[2u * w] + r * through);
    gates[0] = r;
    gates[w] = z;
    gates[2u * w] = n;
    FLOATS(a.candidate)[i] = through;
    FLOATS(a.output)[i] = (1.0f - z) * n + z * FLOATS(a.before)[i];
}

KERNEL gru_step_backward(GLOBAL u8* arena, GLOBAL u8* other, const GruStepBackwardArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i >= a.count) return;
    const i64 first = i / a.width * 3 * a.width + i % a.width;
    GLOBAL float* gates = FLOATS(a.gates) + first;
    GLOBAL float* of_h = FLOATS(a.recurrent_gradient) + first;
    const u32 w = a.width;
    const float g = FLOATS(a.gradient)[i];
    const float r = gates[0];
    const float z = gates[w];
    const float n = gates[2u * w];
    if (PRESENT(a.before_gradient)) FLOATS(a.before_gradient)[i] += g * z;
    const float of_n = g * (1.0f - z) * (1.0f - n * n);
    const float of_z = g * (FLOATS(a.before)[i] - n) * z * (1.0f - z);
    const float of_r = of_n * FLOATS(a.candidate)[i] * r * (1.0f - r);
    of_h[0] = of_r;
    of_h[w] = of_z;
    of_h[2u * w] = of_n * r;
    gates[0] = of_r;
    gates[w] = of_z;
    gates[2u * w] = of_n;
}

KERNEL lstm_step(GLOBAL u8* arena, GLOBAL u8* other, const LstmStepArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i >= a.count) return;
    const u32 column = (u32)(i % a.width);
    const i64 first = i / a.width * 4 * a.width + column;  // of the four numbers of this element
    GLOBAL float* gates = FLOATS(a.gates) + first;
    GLOBAL const float* h = FLOATS(a.recurrent) + first;
    GLOBAL const float* b = FLOATS(a.bias) + column;
    const u32 w = a.width;
    const float in = sigmoid(gates[0] + h[0] + b[0]);
    const float keep = sigmoid(gates[w] + h[w] + b[w]);
    const float fresh = tanh_of(gates[2u * w] + h[2u * w] + b[2u * w]);
    const float out = sigmoid(gates[3u * w] + h[3u * w] + b[3u * w]);
    const float cell = keep * FLOATS(a.cell_before)[i] + in * fresh;
    gates[0] = in;
    gates[w] = keep;
    gates[2u * w] = fresh;
    gates[3u * w] = out;
    FLOATS(a.cell)[i] = cell;
    FLOATS(a.output)[i] = out * tanh_of(cell);
}

KERNEL lstm_step_backward(GLOBAL u8* arena, GLOBAL u8* other, const LstmStepBackwardArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i >= a.count) return;
    GLOBAL float* gates = FLOATS(a.gates) + (i / a.width * 4 * a.width + i % a.width);
    const u32 w = a.width;
    const float g = FLOATS(a.gradient)[i];
    const float in = gates[0];
    const float keep = gates[w];
    const float fresh = gates[2u * w];
    const float out = gates[3u * w];
    const float squashed = tanh_of(FLOATS(a.cell)[i]);
    const float of_cell = FLOATS(a.cell_gradient)[i] + g * out * (1.0f - squashed * squashed);
    gates[0] = of_cell * fresh * in * (1.0f - in);
    gates[w] = of_cell * FLOATS(a.cell_before)[i] * keep * (1.0f - keep);
    gates[2u * w] = of_cell * in * (1.0f - fresh * fresh);
    gates[3u * w] = g * squashed * out * (1.0f - out);
    FLOATS(a.cell_gradient)[i] = of_cell * keep;
}
