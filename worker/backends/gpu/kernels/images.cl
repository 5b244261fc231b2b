// Images: patches for convolutions, group normalisation, means over pixels. Channels lie last.

KERNEL add(GLOBAL u8* arena, GLOBAL u8* other, const AddArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) FLOATS(a.to)[i] += FLOATS(a.from)[i];
}

// A work-item copies an element of a patch.
KERNEL unfold(GLOBAL u8* arena, GLOBAL u8* other, const UnfoldArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) {
        const u32 row_elements = a.patches.kernel_size * a.patches.channels;
        const u32 elements = a.patches.kernel_size * row_elements;
        const u32 element = (u32)(i % elements);
        const i64 patch = i / elements;
        const u32 out_x = (u32)(patch % a.patches.out_width);
        const u32 out_y = (u32)(patch / a.patches.out_width % a.patches.out_height);
        const i64 image = patch / a.patches.out_width / a.patches.out_height;
        const int border = (int)(a.patches.kernel_size / 2u);
        const int y = (int)(out_y * a.patches.stride + element / row_elements) - border;
        const int x = (int)(out_x * a.patches.stride + element % row_elements / a.patches.channels) - border;
        const int inside = y >= 0 && y < (int)a.patches.height && x >= 0 && x < (int)a.patches.width;
        float value = 0.0f;
        if (inside)
            value = FLOATS(a.input)[((image * a.patches.height + y) * a.patches.width + x) * a.patches.channels +
                                    element % a.patches.channels];
        FLOATS(a.output)[i] = value;
    }
}

// A work-item sums an element of an image over the patches that hold it.
KERNEL fold(GLOBAL u8* arena, GLOBAL u8* other, const UnfoldArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) {
        const u32 channel = (u32)(i % a.patches.channels);
        const i64 pixel = i / a.patches.channels;
        const int border = (int)(a.patches.kernel_size / 2u);
        const int x = (int)(pixel % a.patches.width) + border;
        const int y = (int)(pixel / a.patches.width % a.patches.height) + border;
        const i64 image = pixel / a.patches.width / a.patches.height;
        const int stride = (int)a.patches.stride;
        float sum = 0.0f;
        for (int row = 0; row < (int)a.patches.kernel_size; ++row) {
            const int out_y = (y - row) / stride;
            if (y < row || out_y * stride != y - row || out_y >= (int)a.patches.out_height) continue;
            for (int column = 0; column < (int)a.patches.kernel_size; ++column) {
                const int out_x = (x - column) / stride;
                if (x < column || out_x * stride != x - column || out_x >= (int)a.patches.out_width) continue;
                const i64 patch = (image * a.patches.out_height + out_y) * a.patches.out_width + out_x;
                sum += FLOATS(a.input)[((patch * a.patches.kernel_size + row) * a.patches.kernel_size + column) *
                                           a.patches.channels +
                                       channel];
            }
        }
        FLOATS(a.output)[i] = sum;
    }
}

// A work-group normalises a group of a sample.
KERNEL group_norm(GLOBAL u8* arena, GLOBAL u8* other, const GroupNormArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 in_group = a.channels / a.groups;
    const u32 first = WORK_GROUP % a.groups * in_group;
    const u32 count = a.pixels * in_group;
    const float share = 1.0f / (float)count;
    const i64 begin = (i64)(WORK_GROUP / a.groups) * a.pixels * a.channels + first;
    GLOBAL const float* input = FLOATS(a.input) + begin;
    GLOBAL float* output = FLOATS(a.output) + begin;
    float sum = 0.0f;
    for (u32 i = WORK_ITEM; i < count; i += WORK_GROUP_SIZE)
        sum += input[(i64)(i / in_group) * a.channels + i % in_group];
    const float mean = group_sum(scratch, sum) * share;
    float squares = 0.0f;
    for (u32 i = WORK_ITEM; i < count; i += WORK_GROUP_SIZE) {
        const float x = input[(i64)(i / in_group) * a.channels + i % in_group] - mean;
        squares += x * x;
    }
    const float rstd = 1.0f / sqrt(group_sum(scratch, squares) * share + a.epsilon);
    for (u32 i = WORK_ITEM; i < count; i += WORK_GROUP_SIZE) {
        const u32 channel = i % in_group;
        const i64 at = (i64)(i / in_group) * a.channels + channel;
        output[at] = (input[at] - mean) * rstd * FLOATS(a.scale)[first + channel] + FLOATS(a.shift)[first + channel];
    }
    if (WORK_ITEM == 0u) {
        FLOATS(a.mean)[WORK_GROUP] = mean;
        FLOATS(a.rstd)[WORK_GROUP] = rstd;
    }
}

// The sums over the pixels of a sample; a work-group handles SUBGROUP_SIZE channels.
KERNEL group_norm_backward_sums(GLOBAL u8* arena, GLOBAL u8* other, const GroupNormBackwardArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 blocks = (a.channels + SUBGROUP_SIZE - 1u) / SUBGROUP_SIZE;
    const u32 sample = WORK_GROUP / blocks;
    const u32 channel = WORK_GROUP % blocks * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    float sum = 0.0f;
    float moment = 0.0f;
    if (channel < a.channels) {
        const u32 group = sample * a.groups + channel / (a.channels / a.groups);
        const float mean = FLOATS(a.mean)[group];
        const float rstd = FLOATS(a.rstd)[group];
        for (u32 pixel = WORK_ITEM / SUBGROUP_SIZE; pixel < a.pixels; pixel += SUBGROUPS) {
            const i64 i = ((i64)sample * a.pixels + pixel) * a.channels + channel;
            const float g = FLOATS(a.gradient)[i];
            sum += g;
            moment += g * ((FLOATS(a.input)[i] - mean) * rstd);
        }
    }
    sum = column_sum(scratch, sum);
    moment = column_sum(scratch, moment);
    if (WORK_ITEM < SUBGROUP_SIZE && channel < a.channels) {
        FLOATS(a.sums)[(i64)sample * 2u * a.channels + channel] = sum;
        FLOATS(a.sums)[((i64)sample * 2u + 1u) * a.channels + channel] = moment;
    }
}

// The gradients of scale and shift; a work-group handles SUBGROUP_SIZE channels.
KERNEL group_norm_backward_parameters(GLOBAL u8* arena, GLOBAL u8* other, const GroupNormBackwardArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 channel = WORK_GROUP * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    float shift = 0.0f;
    float scale = 0.0f;
    if (channel < a.channels) {
        for (u32 sample = WORK_ITEM / SUBGROUP_SIZE; sample < a.samples; sample += SUBGROUPS) {
            shift += FLOATS(a.sums)[(i64)sample * 2u * a.channels + channel];
            scale += FLOATS(a.sums)[((i64)sample * 2u + 1u) * a.channels + channel];
        }
    }
    shift = column_sum(scratch, shift);
    scale = column_sum(scratch, scale);
    if (WORK_ITEM < SUBGROUP_SIZE && channel < a.channels) {
        FLOATS(a.scale_gradient)[channel] = a.add ? FLOATS(a.scale_gradient)[channel] + scale : scale;
        FLOATS(a.shift_gradient)[channel] = a.add ? FLOATS(a.shift_gradient)[channel] + shift : shift;
    }
}

// A work-group handles a group of a sample.
KERNEL group_norm_backward_input(GLOBAL u8* arena, GLOBAL u8* other, const GroupNormBackwardArguments a) {
    const u32 in_group = a.channels / a.groups;
    const u32 first = WORK_GROUP % a.groups * in_group;
    const u32 sample = WORK_GROUP / a.groups;
    const u32 count = a.pixels * in_group;
    const float share = 1.0f / (float)count;
    const float mean = FLOATS(a.mean)[WORK_GROUP];
    const float rstd = FLOATS(a.rstd)[WORK_GROUP];
    GLOBAL const float* sums = FLOATS(a.sums) + (i64)sample * 2u * a.channels + first;
    float sum = 0.0f;     // of g * scale
    float moment = 0.0f;  // of g * scale * normalised
    for (u32 channel = 0; channel < in_group; ++channel) {
        const float scale = FLOATS(a.scale)[first + channel];
        sum += sums[channel] * scale;
        moment += sums[a.channels + channel] * scale;
    }
    sum *= share;
    moment *= share;
    const i64 begin = (i64)sample * a.pixels * a.channels + first;
    GLOBAL float* gradient = FLOATS(a.gradient) + begin;
    GLOBAL const float* input = FLOATS(a.input) + begin;
    for (u32 i = WORK_ITEM; i < count; i += WORK_GROUP_SIZE) {
        const u32 channel = i % in_group;
        const i64 at = (i64)(i / in_group) * a.channels + channel;
        const float normalised = (input[at] - mean) * rstd;
        gradient[at] = rstd * (gradient[at] * FLOATS(a.scale)[first + channel] - sum - normalised * moment);
    }
}

// A work-item takes the mean of a channel of a sample.
KERNEL mean_pixels(GLOBAL u8* arena, GLOBAL u8* other, const MeanPixelsArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < (i64)a.samples * a.channels) {
        GLOBAL const float* input = FLOATS(a.input) + i / a.channels * a.pixels * a.channels + i % a.channels;
        float sum = 0.0f;
        for (u32 pixel = 0; pixel < a.pixels; ++pixel) sum += input[(i64)pixel * a.channels];
        FLOATS(a.output)[i] = sum / (float)a.pixels;
    }
}

KERNEL mean_pixels_backward(GLOBAL u8* arena, GLOBAL u8* other, const MeanPixelsArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < (i64)a.samples * a.pixels * a.channels) {
        const i64 sample = i / a.channels / a.pixels;
        FLOATS(a.input)[i] = FLOATS(a.output)[sample * a.channels + i % a.channels] / (float)a.pixels;
    }
}

// A work-item takes the maximum of a channel in a window of 2 x 2 pixels, or in its part within the image.
KERNEL max_pixels(GLOBAL u8* arena, GLOBAL u8* other, const MaxPixelsArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) {
        const u32 out_width = (a.width + 1u) / 2u;
        const u32 out_height = (a.height + 1u) / 2u;
        const i64 pixel = i / a.channels;
        const u32 x = (u32)(pixel % out_width) * 2u;
        const u32 y = (u32)(pixel / out_width % out_height) * 2u;
        const i64 image = pixel / out_width / out_height;
        GLOBAL const float* input = FLOATS(a.input) + image * a.height * a.width * a.channels + i % a.channels;
        float greatest = input[((i64)y * a.width + x) * a.channels];
        for (u32 k = 1; k < 4u; ++k) {
            if (y + k / 2u >= a.height || x + k % 2u >= a.width) continue;
            const float next = input[((i64)(y + k / 2u) * a.width + x + k % 2u) * a.channels];
            if (next > greatest || next != next) greatest = next;
        }
        FLOATS(a.output)[i] = greatest;
    }
}

// A work-item handles an element of the input: the first of the greatest in its window gets the window's gradient.
KERNEL max_pixels_backward(GLOBAL u8* arena, GLOBAL u8* other, const MaxPixelsArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) {
        const u32 out_width = (a.width + 1u) / 2u;
        const u32 out_height = (a.height + 1u) / 2u;
        const i64 pixel = i / a.channels;
        const u32 x = (u32)(pixel % a.width);
        const u32 y = (u32)(pixel / a.width % a.height);
        const i64 image = pixel / a.width / a.height;
        GLOBAL const float* input = FLOATS(a.input) + image * a.height * a.width * a.channels + i % a.channels;
        const float own = FLOATS(a.input)[i];
        const u32 place = y % 2u * 2u + x % 2u;
        int wins = 1;
        for (u32 k = 0; k < 4u; ++k) {
            const u32 down = y - y % 2u + k / 2u;
            const u32 right = x - x % 2u + k % 2u;
            if (k == place || down >= a.height || right >= a.width) continue;
            const float rival = input[((i64)down * a.width + right) * a.channels];
            if (k < place ? rival >= own : rival > own) wins = 0;
        }
        const i64 out = ((image * out_height + y / 2u) * out_width + x / 2u) * a.channels + i % a.channels;
        FLOATS(a.input_gradient)[i] = wins ? FLOATS(a.output)[out] : 0.0f;
    }
}
